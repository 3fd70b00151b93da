/** A person's own model in stock Firefox, through the page's form: compiled there, given to a second tab, run by both. */
import { expect, test } from '@playwright/test';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { relativeDifference } from '../support/relativeDifference.ts';
import { runOnce } from '../support/runOnce.ts';
import { hasShared, readSharedModel, sharedFolder } from '../support/shared.ts';
import {
  dropFile,
  expectLoaded,
  modelInput,
  offeredOutput,
  runWithNpy,
  startCompiling,
} from './support/modelPage.ts';
import { expectShards, openTab, type RoomSite, startRoomSite } from './support/roomSite.ts';

let site: RoomSite;
test.beforeAll(async () => {
  site = await startRoomSite(2);
});
test.afterAll(() => site.close());

const cases = [
  { file: 'yolox-nano-coco.onnx', input: 'images', dims: [1, 3, 416, 416], axis: 'rows', threads: 1 },
  { file: 'resnet20-cifar10.onnx', input: 'input', dims: [1, 3, 32, 32], axis: 'channels', threads: 2 },
] as const;

for (const { file, input, dims, axis, threads } of cases) {
  test(`${file} is dropped in Firefox and gives the answer of the undivided model`, async ({ context }) => {
    test.setTimeout(240_000);
    test.skip(!hasShared, `There is no ${sharedFolder}models.`);
    const parameters = { threads: String(threads) };
    // The tab in front is the one that was opened last: pages behind it get no animation frames.
    await openTab(context, site, file, parameters);
    const page = await openTab(context, site, file, parameters);
    await expectShards(page, ['0', '1'], 60_000);
    await dropFile(page, `${sharedFolder}models/${file}`);
    await startCompiling(page, { axis });
    await expectLoaded(page, 150_000);

    const given = modelInput(dims);
    const output = await runWithNpy(page, given, offeredOutput);
    const backend = await createHeapBackend({ threads: 1 });
    const alone = await runOnce(backend, readSharedModel(file), new Map([[input, given]]));
    const [name = ''] = alone.keys();
    expect(relativeDifference(new Map([[name, output]]), alone)).toBeLessThan(1e-3);
    await expect(page.locator('#timeline .gantt-row').first()).toBeVisible();
    await expect(page.locator('.message')).toHaveCount(0);
  });
}
