/** Files that a person drops, pastes or chooses: one, several, or a folder with all that is in it. Reads none of them. */

export interface GivenFile {
  /** From the dropped folder on; the name alone of a single file. */
  readonly path: string;
  readonly file: File;
}

/** Of a larger folder the rest is left: a model that keeps each weight in a file of its own has some thousands. */
const mostFiles = 10_000;

export function filesOf(list: Iterable<File> | null | undefined): readonly GivenFile[] {
  return [...(list ?? [])].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
}

/** Has to be called while the event is handled: afterwards the browser shows nothing of what was dropped. */
export function droppedFiles(transfer: DataTransfer | null): Promise<readonly GivenFile[]> {
  const files = filesOf(transfer?.files);
  const entries = [...(transfer?.items ?? [])].flatMap((item) => item.webkitGetAsEntry() ?? []);
  return entries.some(({ isDirectory }) => isDirectory) ? filesBelow(entries) : Promise.resolve(files);
}

async function filesBelow(roots: readonly FileSystemEntry[]): Promise<readonly GivenFile[]> {
  const files: GivenFile[] = [];
  const waiting = [...roots];
  for (let entry = waiting.shift(); entry !== undefined; entry = waiting.shift()) {
    if (files.length === mostFiles) break;
    if (isFile(entry)) files.push({ path: entry.fullPath.replace(/^\//, ''), file: await fileOf(entry) });
    else if (isFolder(entry)) waiting.push(...(await entriesOf(entry)));
  }
  return files;
}

function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile;
}

function isFolder(entry: FileSystemEntry): entry is FileSystemDirectoryEntry {
  return entry.isDirectory;
}

function fileOf(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((resolve, reject) => entry.file(resolve, reject));
}

/** A reader gives a hundred at a time, and nothing when there are no more. */
async function entriesOf(folder: FileSystemDirectoryEntry): Promise<readonly FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const next = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (next.length === 0 || all.length >= mostFiles) return all;
    all.push(...next);
  }
}
