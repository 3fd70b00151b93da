/** The link between two Firefox tabs. */
import { linkTests } from './link/linkTests.ts';

linkTests();
