/** Returns a number and a noun, such as `1 delivery`. The plural of `delivery` must be given. */
export const count = (number: number, noun: string, plural = `${noun}s`): string =>
  `${number} ${number === 1 ? noun : plural}`
