import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadModel } from '../graph/load.ts';
import { starling } from '../tests/support/commandLine.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'starling-cli-'));
});
afterAll(() => rm(folder, { recursive: true }));

const reluModel = (layer: string) => ({
  modelTopology: {
    model_config: {
      class_name: 'Sequential',
      config: {
        layers: [{ class_name: layer, config: { name: 'odd', batch_input_shape: [null, null, null, 3] } }],
      },
    },
  },
  weightsManifest: [],
});

async function write(name: string, content: unknown): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

describe('starling', () => {
  it('lists the commands, and shows how one is used', async () => {
    const list = await starling('help');
    expect(list).toMatchObject({ code: 0, err: '' });
    expect(list.out).toMatch(/^ {2}import-tfjs +\S/m);
    const one = await starling('help', 'import-tfjs');
    expect(one.out).toMatch(/^usage: starling import-tfjs MODEL_JSON --out FILE\n/);
    expect((await starling('import-tfjs', '--help')).out).toBe(one.out);
  });

  it('tells what each option means, in lines that a terminal holds', async () => {
    for (const name of ['compile', 'train']) {
      const { out } = await starling('help', name);
      expect(out).toMatch(/^ {2}--out DIR {2,}\S/m);
      expect(out).toMatch(/^ {2}--wire float32\|\S+\s+what features travel as/m);
      for (const line of out.split('\n')) expect(line.length).toBeLessThan(120);
      const { err } = await starling(name, 'model.onnx', '--ouch');
      expect(err).toMatch(/^USAGE: .*--ouch/);
      expect(err).toContain(`starling help ${name} lists the options.`);
    }
  });

  it('answers wrong arguments with what is wrong, the usage line and exit code 2', async () => {
    const usage = 'usage: starling import-tfjs MODEL_JSON --out FILE\n';
    const cases: readonly (readonly [string[], RegExp])[] = [
      [[], /MODEL_JSON is missing/],
      [['a.json'], /--out is missing/],
      [['a.json', 'b.json', '--out', 'x'], /too many: b\.json/],
      [['a.json', '--ouch', 'x'], /--ouch/],
    ];
    for (const [args, message] of cases) {
      const { code, out, err } = await starling('import-tfjs', ...args);
      expect([code, out]).toEqual([2, '']);
      expect(err).toMatch(/^USAGE: /);
      expect(err).toMatch(message);
      expect(err.endsWith(usage)).toBe(true);
    }
    for (const args of [[], ['fly'], ['help', 'fly']]) expect((await starling(...args)).code).toBe(2);
  });

  it('imports a model', async () => {
    const out = join(folder, 'new', 'relu.onnx');
    const result = await starling('import-tfjs', await write('relu.json', reluModel('ReLU')), '--out', out);
    expect(result).toMatchObject({ code: 0, err: '' });
    expect(loadModel(await readFile(out)).graph.nodes.map((node) => node.opType)).toEqual(['Relu']);
  });

  it('answers a failure with one line and exit code 1, with the stack only when asked', async () => {
    const odd = await write('odd.json', reluModel('Odd'));
    const text = await write('text.json', 'no JSON');
    const thief = await write('thief.json', {
      ...reluModel('ReLU'),
      weightsManifest: [{ paths: ['../secret.bin'], weights: [] }],
    });
    const cases: readonly (readonly [string, RegExp])[] = [
      [join(folder, 'nowhere.json'), /^MODEL_NOT_FOUND: .*nowhere\.json does not exist\.\n$/],
      [folder, /^FILE_UNREADABLE: .* is a folder; a file is expected\.\n$/],
      [text, /^MODEL_UNREADABLE: .*text\.json is not JSON\.\n$/],
      [odd, /^MODEL_UNSUPPORTED: Layer odd \(Odd\) .*\n$/],
      [thief, /^MODEL_UNREADABLE: .*\.\.\/secret\.bin, which lies outside its folder\.\n$/],
    ];
    for (const [path, line] of cases) {
      const { code, err } = await starling('import-tfjs', path, '--out', join(folder, 'x.onnx'));
      expect(code).toBe(1);
      expect(err).toMatch(line);
      expect(err).not.toMatch(/\n.*at /);
    }
    const { err } = await starling('import-tfjs', odd, '--out', 'x', '--debug');
    expect(err).toMatch(/\n {4}at /);
  });

  it('says which file it cannot write and leaves nothing behind', async () => {
    const model = await write('fine.json', reluModel('ReLU'));
    const { code, err } = await starling('import-tfjs', model, '--out', join(model, 'below-a-file.onnx'));
    expect(code).toBe(1);
    expect(err).toMatch(/^FILE_UNWRITABLE: .*below-a-file\.onnx cannot be written/);
  });
});
