/** Plain text tables for terminals: left-aligned first column, the others right-aligned. */
export function formatTable(rows: readonly (readonly (string | number)[])[]): string {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => String(row[column] ?? '').length)),
  );
  return rows
    .map((row) =>
      row
        .map((cell, column) => {
          const text = String(cell);
          return column === 0 ? text.padEnd(widths[column] ?? 0) : text.padStart(widths[column] ?? 0);
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** 12_345_678 -> "12.3 M": three digits and a decimal prefix. */
export function formatCount(value: number): string {
  const prefixes = ['', ' k', ' M', ' G', ' T'];
  let scaled = value;
  let prefix = 0;
  while (Math.abs(scaled) >= 1000 && prefix < prefixes.length - 1) {
    scaled /= 1000;
    prefix++;
  }
  const digits = prefix === 0 ? String(scaled) : scaled.toPrecision(3);
  return `${digits}${prefixes[prefix] ?? ''}`;
}
