import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from './entries.ts'

it('SECURITY.md names an existing test for each promise', () => {
  const text = readFileSync(join(root, 'SECURITY.md'), 'utf8')
  const [, section = ''] = text.split('\n## What geohook promises\n')
  const [promises = ''] = section.split('\n## ')
  const rows = promises.split('\n').filter((line) => line.startsWith('| ') && !/^\| (promise|---)/.test(line))
  expect(rows.length).toBeGreaterThan(10)
  for (const row of rows) {
    const files = [...row.matchAll(/`(test\/[^`]+)`/g)].map(([, path = '']) => path)
    expect(files, row).not.toEqual([])
    expect(files.filter((path) => !existsSync(join(root, path)))).toEqual([])
  }
})
