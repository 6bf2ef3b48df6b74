export const seeds = ['reject', 'other']

export function run(input) {
  if (input[0] === 0x72) Promise.reject(new Error('planted rejection'))
}
