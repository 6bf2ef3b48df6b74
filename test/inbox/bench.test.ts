import { expect, it } from 'vitest'
import { startNode } from '../helpers/process.ts'

it('the benchmark of the inboxes runs, and finds every delivery in them', { timeout: 60_000 }, async () => {
  const engines = ['none', 'memory', 'sqlite']
  const bench = startNode(['scripts/bench-inbox.mjs', '--smoke', '--engines', engines.join()])
  expect(await bench.exited, bench.output).toBe(0)
  for (const engine of engines) expect(bench.stdout).toMatch(new RegExp(`^${engine} +50 `, 'm'))
  expect(bench.stdout).not.toContain('left out')
})
