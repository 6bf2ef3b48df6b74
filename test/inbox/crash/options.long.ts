import { expect, it } from 'vitest'
import { startNode } from '../../helpers/process.ts'

it.concurrent.each([
  [['--kills', '0'], '--kills must be an integer from 1\n'],
  [['--receivers', '0'], '--receivers must be an integer from 1 to 16\n'],
  [['--server-kills', 'x'], '--server-kills must be an integer from 0\n'],
  [['--coalesce', '--server-kills', '1'], '--coalesce cannot be combined with --server-kills\n'],
  [['--catch-up', '--server-kills', '1'], '--catch-up cannot be combined with --server-kills\n'],
  [['--seed', 'x'], '--seed must be an integer from 0 to 4294967295\n'],
])('npm run crash -- %j exits with code 2', async (args, message) => {
  const crash = startNode(['--import', 'tsx', 'scripts/crash.mjs', ...args])
  expect(await crash.exited).toBe(2)
  expect(crash.output).toBe(message)
})
