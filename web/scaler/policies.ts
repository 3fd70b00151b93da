/** Every way to choose the setting behind one interface: the scalers, and the baselines they are compared with. */
import { searchBatch } from './batchScaler.ts';
import { hold } from './hold.ts';
import { HoldMemory } from './holdMemory.ts';
import { searchJoint } from './jointScaler.ts';
import { defaultThreads, type PolicyContext } from './policyContext.ts';
import { profile } from './profiler.ts';
import { type Policy, type Search, type Setting, settingText } from './setting.ts';
import { searchInstances } from './tenancyScaler.ts';

/**
 * `joint`: both knobs. `profiled`: as DNNScaler, the knob that the profiler names. `batching`, `instances`: one knob
 * whatever the profiler would say. `clipper`: additive increase, multiplicative decrease of the batch.
 */
export type PolicyName = 'joint' | 'profiled' | 'batching' | 'instances' | 'clipper';
export type PolicyChoice = PolicyName | { readonly fixed: Pick<Setting, 'batch' | 'instances'> };

/** Clipper (Crankshaw et al., NSDI 2017). */
const clipper = { add: 4, multiply: 0.9 } as const;

export function createPolicy(choice: PolicyChoice, context: PolicyContext): Policy {
  if (typeof choice !== 'string') return fixed(context, choice.fixed);
  if (choice === 'clipper') return additiveIncrease(context);
  return adaptive(context, searches[choice], { byThroughput: choice === 'joint' });
}

const searches: Record<Exclude<PolicyName, 'clipper'>, (context: PolicyContext) => Search<Setting>> = {
  joint: searchJoint,
  batching: batchingOnly,
  instances: (context) => searchInstances(context, defaultThreads(context.limits)),
  *profiled(context) {
    const { approach } = yield* profile(context);
    return approach === 'batching'
      ? yield* batchingOnly(context)
      : yield* searchInstances(context, defaultThreads(context.limits));
  },
};

function batchingOnly(context: PolicyContext): Search<Setting> {
  return searchBatch(context, { instances: 1, threads: defaultThreads(context.limits) });
}

function* adaptive(
  context: PolicyContext,
  search: (context: PolicyContext) => Search<Setting>,
  by: { readonly byThroughput: boolean },
): Policy {
  const memory = new HoldMemory();
  for (;;) yield* hold(context, yield* search(context), memory, by);
}

function* fixed(
  { limits }: PolicyContext,
  { batch, instances }: Pick<Setting, 'batch' | 'instances'>,
): Policy {
  for (;;) {
    const setting = {
      batch: Math.min(batch, limits.maxBatch),
      instances: Math.min(instances, limits.maxInstances),
      threads: defaultThreads(limits),
    };
    yield { setting, phase: 'hold', reason: `Fixed: ${settingText(setting)}.` };
  }
}

function* additiveIncrease(context: PolicyContext): Policy {
  let batch = Math.min(context.current.batch, context.limits.maxBatch);
  let reason = 'Additive increase: starting.';
  for (;;) {
    const setting = { batch, instances: 1, threads: defaultThreads(context.limits) };
    const report = yield { setting, phase: 'hold', reason };
    if (report.p95Ms > context.objective.p95Ms) {
      batch = Math.max(1, Math.floor(batch * clipper.multiply));
      reason = `The objective was missed: batch times ${clipper.multiply}.`;
    } else if (report.saturated) {
      batch = Math.min(batch + clipper.add, context.limits.maxBatch);
      reason = `The objective was kept: batch plus ${clipper.add}.`;
    }
  }
}
