import { expect, it } from 'vitest'
import { startNode } from '../helpers/process.ts'
import { hasProgram } from '../helpers/programs.ts'

async function expectRejected(args: string[], message: string): Promise<void> {
  const timing = startNode(['scripts/timing.mjs', ...args])
  expect(await timing.exited, timing.output).toBe(2)
  expect(timing.stderr).toContain(message)
}

it('rejects wrong options of npm run timing', async () => {
  const rejected: [string[], string][] = [
    [['--rounds', 'abc'], '--rounds must be an integer from 1'],
    [['--rounds', '0'], '--rounds must be an integer from 1'],
    [['--seed', 'x'], '--seed must be an integer'],
    [['--seed', '4294967296'], '--seed must be an integer below 2^32'],
    [['--node', ''], '--node must be a major version'],
    [['--node', '../node22'], '--node must be a major version'],
    [['--node', '22', '--all-nodes'], '--node and --all-nodes'],
  ]
  await Promise.all(rejected.map((each) => expectRejected(...each)))
})

// A script of bash looks for other versions of Node.
it.skipIf(!hasProgram('bash'))('rejects a version of Node that is not installed', () =>
  expectRejected(['--node', '99'], 'Node 99 is not installed'),
)
