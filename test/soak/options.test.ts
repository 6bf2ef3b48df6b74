import { expect, it } from 'vitest'
import { startNode } from '../helpers/process.ts'

it('rejects wrong options of npm run soak', async () => {
  const rejected: [string[], string][] = [
    [['--minutes', '0'], '--minutes must be a number greater than 0'],
    [['--minutes', 'Infinity'], '--minutes must be a number greater than 0'],
    [['--seed', 'x'], '--seed must be an integer below 10^9'],
    [['--leak', '8'], '--leak must be an integer from 32, or timer'],
  ]
  await Promise.all(
    rejected.map(async ([args, message]) => {
      const soak = startNode(['scripts/soak.mjs', ...args])
      expect(await soak.exited, soak.output).toBe(2)
      expect(soak.stderr).toContain(message)
    }),
  )
})
