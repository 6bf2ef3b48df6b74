import { explain } from 'geohook'
import { describe, expect, it } from 'vitest'
import { readFixtures } from './all-fixtures.ts'

/** The fixtures of the list that several runtimes evaluate. The long tests explain all of them. */
const rows = readFixtures().filter(({ file }) => file.startsWith('rows-'))
const RUNTIMES = ['rows-python', 'rows-ruby']
const namesOf = (runtime: string): string[] =>
  rows.filter(({ file }) => file === runtime).map(({ name }) => name)

/** One of this many fixtures is explained here. */
const EVERY = 31

describe('explain, fixtures of the list of rows', () => {
  it('come from two runtimes, which have the same rows', () => {
    const [first, second] = RUNTIMES.map(namesOf)
    expect(second).toEqual(first)
    expect(new Set(first).size).toBe(first?.length)
    expect(first?.length).toBeGreaterThan(900)
  })

  it.each(
    rows
      .filter((_, index) => index % EVERY === 0)
      .map((row) => [`${row.cause}, ${row.file}: ${row.name}`, row] as const),
  )('have the cause that the list names: %s', async (_, { cause, also, options }) => {
    expect(await explain(options)).toMatchObject({ cause, ...(also ? { also } : {}) })
  })
})
