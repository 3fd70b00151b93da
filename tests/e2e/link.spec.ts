/** The link between two Chromium tabs. */
import { linkTests } from './link/linkTests.ts';

linkTests();
