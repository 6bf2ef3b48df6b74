export const seeds = ['error', 'never']

export async function run(input) {
  if (input[0] === 0x65) throw new Error('planted error')
  if (input[0] === 0x6e) await new Promise(() => {})
}
