import { describe, expect, it } from 'vitest';
import { deviceName, isMobile } from './deviceName.ts';

const chromeOnAndroid =
  'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36';
const firefoxOnLinux = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0';
const safariOnPhone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1';
const edgeOnWindows =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36 Edg/126.0.0.0';

describe('deviceName', () => {
  it.each([
    [chromeOnAndroid, 'Chrome on Android', true],
    [firefoxOnLinux, 'Firefox on Linux', false],
    [safariOnPhone, 'Safari on iPhone', true],
    [edgeOnWindows, 'Edge on Windows', false],
    ['something else', 'Browser', false],
  ])('%s', (userAgent, name, mobile) => {
    expect(deviceName(userAgent)).toBe(name);
    expect(isMobile(userAgent)).toBe(mobile);
  });
});
