/** What a person does with a model of their own on the page, for the specs: dropping it, running it, reading the result. */
import { readFile } from 'node:fs/promises';
import { expect, type Page } from '@playwright/test';
import { float32Tensor, type Tensor } from '../../../graph/tensor.ts';
import { readNpy, writeNpy } from '../../../protocol/npy.ts';

/** As a person drops them: the page gets Files that it has not read. */
export async function dropFile(page: Page, ...paths: readonly string[]): Promise<void> {
  await page.evaluate(() => {
    document.querySelector('#dropped')?.remove();
    const input = document.createElement('input');
    Object.assign(input, { type: 'file', id: 'dropped', hidden: true, multiple: true });
    document.body.append(input);
  });
  await page.locator('#dropped').setInputFiles([...paths]);
  await page.evaluate(() => {
    const files = document.querySelector<HTMLInputElement>('#dropped')?.files ?? [];
    const dataTransfer = new DataTransfer();
    for (const file of files) dataTransfer.items.add(file);
    document.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
  });
}

/** The browser's own drop, which alone can be of a folder. Chromium only. */
export async function dropFolder(page: Page, path: string): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files: [path], dragOperationsMask: 1 };
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
    await session.send('Input.dispatchDragEvent', { type, x: 200, y: 200, data });
  await session.detach();
}

export interface CompileChoices {
  readonly axis: 'auto' | 'rows' | 'channels';
  readonly pixelsIn?: string;
  readonly pixelsOut?: string;
}

/** Waits for the form of a dropped model, fills it in and sends it. */
export async function startCompiling(
  page: Page,
  { axis, pixelsIn, pixelsOut }: CompileChoices,
): Promise<void> {
  await page.locator('#model-axis').selectOption(axis, { timeout: 60_000 });
  if (pixelsIn !== undefined) await page.locator('#model-pixels-in').selectOption(pixelsIn);
  if (pixelsOut !== undefined) await page.locator('#model-pixels-out').selectOption(pixelsOut);
  await page.getByRole('button', { name: 'Compile and load' }).click();
}

export async function expectLoaded(page: Page, timeout = 90_000): Promise<void> {
  await expect(page.locator('#model')).toHaveAttribute('data-state', 'ready', { timeout });
}

/** Numbers for an input: the same in every test. */
export function modelInput(dims: readonly number[]): Tensor {
  const count = dims.reduce((product, dim) => product * dim, 1);
  const value = (_: unknown, i: number) => 0.5 + 0.4 * Math.sin(i * 0.011) + 0.1 * Math.sin(i * 1.3);
  return float32Tensor(dims, Float32Array.from({ length: count }, value));
}

/** Gives the first input as .npy, runs the model, and reads the first output as it is saved. */
export async function runWithNpy(
  page: Page,
  { dims, data }: Tensor,
  save: (page: Page) => Promise<Tensor> = saveOutput,
): Promise<Tensor> {
  const buffer = Buffer.from(writeNpy({ dataType: 'float32', dims, data }));
  const file = { name: 'in.npy', mimeType: 'application/octet-stream', buffer };
  await page.locator('#model-npy-0').setInputFiles(file);
  await expect(page.locator('.chosen').first()).toContainText('in.npy');
  await runModel(page);
  return save(page);
}

/** Presses Run and waits for the outputs. */
export async function runModel(page: Page): Promise<void> {
  const panel = page.locator('#model');
  const runs = Number(await panel.getAttribute('data-runs'));
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await expect(panel).toHaveAttribute('data-runs', String(runs + 1), { timeout: 60_000 });
}

async function saveOutput(page: Page): Promise<Tensor> {
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Save as .npy' }).first().click();
  return readNpy(new Uint8Array(await readFile(await (await download).path())));
}

/** The same where Playwright hears of no download, as in stock Firefox: the file as the page offers it to be saved. */
export async function offeredOutput(page: Page): Promise<Tensor> {
  await page.evaluate(() => {
    const { createObjectURL } = URL;
    const offered = new Promise<string>((resolve) => {
      URL.createObjectURL = (object) => {
        URL.createObjectURL = createObjectURL;
        const reader = new FileReader();
        reader.onload = () => resolve(String(reader.result));
        if (object instanceof Blob) reader.readAsDataURL(object);
        return createObjectURL.call(URL, object);
      };
    });
    Object.assign(globalThis, { offered });
  });
  await page.getByRole('button', { name: 'Save as .npy' }).first().click();
  const address = await page.evaluate(() => (globalThis as unknown as { offered: Promise<string> }).offered);
  return readNpy(new Uint8Array(Buffer.from(address.slice(address.indexOf(',') + 1), 'base64')));
}

/** A picture of 60 x 40 pixels: two thirds of one colour, the rest transparent. */
export async function samplePng(page: Page): Promise<{ name: string; mimeType: string; buffer: Buffer }> {
  const base64 = await page.evaluate(async () => {
    const canvas = new OffscreenCanvas(60, 40);
    const context = canvas.getContext('2d');
    if (context !== null) {
      context.fillStyle = '#c63';
      context.fillRect(0, 0, 40, 40);
    }
    const bytes = new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer());
    return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
  });
  return { name: 'sample.png', mimeType: 'image/png', buffer: Buffer.from(base64, 'base64') };
}
