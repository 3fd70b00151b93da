import { expect, test } from 'vitest';
import { parseVocObjects } from './voc.ts';

const box = (tag: string, [xmin, ymin, xmax, ymax]: readonly number[]) =>
  `<${tag}><xmax>${xmax}</xmax><xmin>${xmin}</xmin><ymax>${ymax}</ymax><ymin>${ymin}</ymin></${tag}>`;

test('objects of an annotation: zero-based boxes, COCO labels, parts left aside', () => {
  const part = `<part><name>head</name>${box('bndbox', [7, 7, 8, 8])}</part>`;
  const xml = `<annotation><folder>x</folder>
    <object>${part}<name>person</name><difficult>0</difficult>${box('bndbox', [1, 49, 341, 499])}</object>
    <object><name>tvmonitor</name><difficult>1</difficult>${box('bndbox', [2, 3, 4, 5])}</object></annotation>`;
  expect(parseVocObjects(xml)).toEqual([
    { left: 0, top: 48, right: 341, bottom: 499, label: 0, difficult: false },
    { left: 1, top: 2, right: 4, bottom: 5, label: 62, difficult: true },
  ]);
  expect(parseVocObjects('<annotation></annotation>')).toEqual([]);
  expect(() => parseVocObjects(xml.replace('tvmonitor', 'gnu'))).toThrow(/none of Pascal VOC's/);
});
