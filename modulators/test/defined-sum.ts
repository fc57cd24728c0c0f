/** `sum` of "jecho:moe" by its definition: partial sums by the index, and these in pairs. */
export function definedSum(list: ArrayLike<number>): number {
  const p = Array<number>(8).fill(0);
  for (const [i, value] of Array.from(list).entries()) p[i % 8] = (p[i % 8] as number) + value;
  const pairs = [0, 1, 2, 3].map(i => (p[i] as number) + (p[i + 4] as number)) as [
    number,
    number,
    number,
    number,
  ];
  return pairs[0] + pairs[2] + (pairs[1] + pairs[3]);
}
