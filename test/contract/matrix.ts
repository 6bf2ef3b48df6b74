import type { Reporter, TestCase, TestModule } from 'vitest/node'

const MARKS = { passed: '\u2713', failed: '\u2717', skipped: '-', pending: '-' }

/** Prints the contract as a table with one column per adapter or runtime. Fails the run unless every case passed. */
export default class Matrix implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const columns = new Map<string, Map<string, TestCase>>()
    for (const test of modules.flatMap((module) => [...module.children.allTests()])) {
      if (test.parent.type !== 'suite') continue
      const column = columns.get(test.parent.name) ?? new Map<string, TestCase>()
      columns.set(test.parent.name, column.set(test.name, test))
    }
    const cases = [...new Set([...columns.values()].flatMap((column) => [...column.keys()]))]
    const cells = cases.map((name) =>
      [...columns.values()].map((column) => column.get(name)?.result().state ?? 'pending'),
    )
    const missing = cells.flat().filter((state) => state !== 'passed').length
    if (missing > 0 || cells.length === 0) process.exitCode = 1
    const width = Math.max(...cases.map(({ length }) => length))
    const titles = [...columns.keys()].map((title, i) => `  ${String(i + 1).padStart(2)} ${title}`)
    const line = (name: string, marks: string[]): string =>
      `${name.padEnd(width)} ${marks.map((mark) => mark.padStart(3)).join('')}`
    print([
      '',
      ...titles,
      '',
      line(
        '',
        titles.map((_, i) => String(i + 1)),
      ),
      ...cases.map((name, i) =>
        line(
          name,
          (cells[i] ?? []).map((state) => MARKS[state]),
        ),
      ),
      '',
      `${titles.length} \u00d7 ${cases.length} cases: ${cells.length === 0 ? 'no tests ran' : missing === 0 ? 'all passed' : `${missing} not passed`}`,
    ])
  }
}

function print(lines: readonly string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`)
}
