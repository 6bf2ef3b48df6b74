import { expect, it } from 'vitest'
import { startNode } from '../../helpers/process.ts'

it.concurrent.each([
  [['--kills', '0'], '--kills is a whole number from 1\n'],
  [['--receivers', '0'], '--receivers is a whole number from 1 to 16\n'],
  [['--server-kills', 'x'], '--server-kills is a whole number from 0\n'],
  [['--seed', 'x'], '--seed is a whole number from 0 to 4294967295\n'],
])('npm run crash -- %j exits with code 2', async (args, message) => {
  const crash = startNode(['--import', 'tsx', 'scripts/crash.mjs', ...args])
  expect(await crash.exited).toBe(2)
  expect(crash.output).toBe(message)
})
