/** Entry of the data plane's Worker: DeviceWorker behind comlink, its errors packed so that their codes survive. */
import * as Comlink from 'comlink';
import { type Packed, packResult } from '../protocol/wireError.ts';
import type { DeviceApi } from './api.ts';
import { DeviceWorker } from './deviceWorkerApi.ts';

const worker = new DeviceWorker();

const packed: Packed<DeviceApi> = {
  alive: () => packResult(() => worker.alive()),
  start: (options) => packResult(() => worker.start(options)),
  openPlan: (source) => packResult(() => worker.openPlan(source)),
  holdPlans: (plans) => packResult(() => worker.holdPlans(plans)),
  measureSpeed: () => packResult(() => worker.measureSpeed()),
  measureLink: (deviceId) => packResult(() => worker.measureLink(deviceId)),
  forecast: (question) => packResult(() => worker.forecast(question)),
  predictHeap: (placement) => packResult(() => worker.predictHeap(placement)),
  load: (placement, onProgress) => packResult(() => worker.load(placement, onProgress)),
  connect: (deviceId, channel) => packResult(() => worker.connect(deviceId, channel)),
  disconnect: (deviceId) => packResult(() => worker.disconnect(deviceId)),
  run: async (runId, inputs, options) => {
    const result = await packResult(() => worker.run(runId, inputs, options));
    if (!result.ok) return result;
    // The outputs' memory moves to the page; nothing here reads it again.
    const buffers = Object.values(result.value.outputs).map(({ data }) => data.buffer as ArrayBuffer);
    return Comlink.transfer(result, [...new Set(buffers)]);
  },
  abort: (runId) => packResult(() => worker.abort(runId)),
  unload: () => packResult(() => worker.unload()),
};

Comlink.expose(packed);
