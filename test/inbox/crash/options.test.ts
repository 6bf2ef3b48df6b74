import { expect, it } from 'vitest'
import { startNode } from '../../helpers/process.ts'

it.concurrent.each([
  [['--kills', '0'], '--kills is a whole number from 1\n'],
  [['--kills', '1.5'], '--kills is a whole number from 1\n'],
  [['--seed', 'x'], '--seed is a whole number from 0 to 4294967295\n'],
  [['--engine', 'oracle'], '--engine is one of sqlite, postgres, redis, all\n'],
  [['--killz', '1'], "Unknown option '--killz'\n"],
])('npm run crash -- %j is wrong usage', async (args, said) => {
  const crash = startNode(['--import', 'tsx', 'scripts/crash.mjs', ...args])
  expect(await crash.exited).toBe(2)
  expect(crash.output).toBe(said)
})
