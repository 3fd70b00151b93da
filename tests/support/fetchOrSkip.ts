/** What a test fetches from npm, or undefined with a plain message where npm cannot be reached. */
import { fetchNpmPackage, type NpmPackage } from '../../eval/npmPackage.ts';
import { StarlingError } from '../../protocol/errors.ts';

export async function fetchOrSkip(wanted: NpmPackage): Promise<string | undefined> {
  try {
    return await fetchNpmPackage(wanted);
  } catch (thrown) {
    if (!(thrown instanceof StarlingError) || thrown.code !== 'PACKAGE_UNREACHABLE') throw thrown;
    console.warn(`Skipped: ${thrown.message}`);
    return undefined;
  }
}
