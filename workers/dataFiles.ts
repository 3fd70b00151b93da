/** Which of the files that a person gave are those that a model names. Reads none of them. */
import { StarlingError } from '../protocol/errors.ts';

/** Names of the sentence; more are counted. */
const mostNamed = 3;

/**
 * By path, as the model spells it: the given file of just that path, else of that path below the folder that was given,
 * else, of files without folders, the one of that name. Throws DATA_FILE_MISSING with the names of those that are not there.
 */
export function matchDataFiles<File>(
  wanted: readonly string[],
  given: ReadonlyMap<string, File>,
): ReadonlyMap<string, File> {
  const files = new Map([...given].map(([path, file]) => [plainPath(path), file]));
  const names = wanted.map((path) => nameOf(plainPath(path)));
  const find = (path: string): File | undefined => {
    const plain = plainPath(path);
    const exact = files.get(plain) ?? [...files].find(([other]) => other.endsWith(`/${plain}`))?.[1];
    if (exact !== undefined) return exact;
    // Two files of one name in different folders cannot be told apart without them.
    const name = nameOf(plain);
    return names.filter((other) => other === name).length === 1 ? files.get(name) : undefined;
  };
  const found = new Map<string, File>();
  const missing: string[] = [];
  for (const path of wanted) {
    const file = find(path);
    if (file === undefined) missing.push(path);
    else found.set(path, file);
  }
  if (missing.length === 0) return found;
  const listed = missing.slice(0, mostNamed).map((path) => `“${path}”`);
  const rest = missing.length - listed.length;
  const all = rest === 0 ? listed : [...listed, `${rest} more`];
  const last = all.pop() ?? '';
  const list = all.length === 0 ? last : `${all.join(', ')} and ${last}`;
  throw new StarlingError(
    'DATA_FILE_MISSING',
    missing.length === 1
      ? `The model keeps weights in a file of their own, ${list}: give that one too, or drop both together.`
      : `The model keeps weights in files of their own, ${list}: give them too, or drop the whole folder.`,
  );
}

function plainPath(path: string): string {
  return path
    .split(/[/\\]/)
    .filter((part) => part !== '' && part !== '.')
    .join('/');
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
