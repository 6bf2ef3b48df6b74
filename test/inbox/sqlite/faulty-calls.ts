import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { onTestFinished, vi } from 'vitest'
import { SqliteDatabase } from '../../helpers/sqlite.ts'

interface Statement {
  run(...values: unknown[]): unknown
  get(...values: unknown[]): unknown
  all(...values: unknown[]): unknown[]
}

/**
 * Calls a function before each statement that runs in this process, until the test ends. If the function throws, the
 * statement fails with this error. Has no effect on statements that were prepared before.
 */
export function beforeStatements(before: (sql: string, values: unknown[]) => void): void {
  const { prepare, exec } = SqliteDatabase.prototype
  const spies = [
    vi.spyOn(SqliteDatabase.prototype, 'prepare').mockImplementation(function (given) {
      const sql = String(given)
      const statement = prepare.call(this, sql) as Statement
      const watch =
        (run: (...values: unknown[]) => unknown) =>
        (...values: unknown[]): never => {
          before(sql, values)
          return run.apply(statement, values) as never
        }
      return { run: watch(statement.run), get: watch(statement.get), all: watch(statement.all) }
    }),
    vi.spyOn(SqliteDatabase.prototype, 'exec').mockImplementation(function (given) {
      const sql = String(given)
      before(sql, [])
      return exec.call(this, sql)
    }),
  ]
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore()
  })
}

/** Replaces a function of `node:fs` until the test ends. `make` receives the original. */
export function replaceFs<Name extends keyof typeof fs>(
  name: Name,
  make: (original: (typeof fs)[Name]) => (typeof fs)[Name],
): void {
  const original = fs[name]
  const set = (value: (typeof fs)[Name]): void => {
    fs[name] = value
    syncBuiltinESMExports()
  }
  set(make(original))
  onTestFinished(() => set(original))
}

/**
 * Throws errors, each once, before the next statement with this SQL. Returns the list of errors, to which the test may
 * add others.
 */
export function failNext(sql: string, errors: unknown[] = []): unknown[] {
  beforeStatements((statement) => {
    const error = statement === sql && errors.shift()
    if (error) throw error
  })
  return errors
}

/** The same error as each of the two drivers reports it. */
export const errorsOf = (number: number, name: string): Error[] => [
  Object.assign(new Error('injected'), { code: name }),
  Object.assign(new Error('injected'), { code: 'ERR_SQLITE_ERROR', errcode: number }),
]
