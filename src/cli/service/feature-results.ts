import { toRecord } from '../io/json.ts'
import { count, type Io } from '../terminal/io.ts'
import type { ServiceResponse } from './client.ts'
import { toPrintable } from './webhooks.ts'

const LISTS = [
  ['addResults', 'add', 'added'],
  ['updateResults', 'update', 'updated'],
  ['deleteResults', 'delete', 'deleted'],
] as const

/** The result of one row. */
export interface RowResult {
  objectId: number | null
  globalId?: string
  success: boolean
  error?: { code: number; description: string }
}

/** The results of all rows, in their order. */
export type EditResults = Record<(typeof LISTS)[number][0], RowResult[]>

export function parseResults(response: ServiceResponse): EditResults {
  const entries = LISTS.map(([name]) => {
    const list = response[name]
    return [name, Array.isArray(list) ? list.map(parseResult) : []]
  })
  return Object.fromEntries(entries)
}

function parseResult(value: unknown): RowResult {
  const { objectId, globalId, success, error } = toRecord(value) ?? {}
  const { code, description } = toRecord(error) ?? {}
  return {
    objectId: typeof objectId === 'number' ? objectId : null,
    ...(typeof globalId === 'string' ? { globalId } : {}),
    success: success === true,
    ...(success === true
      ? {}
      : { error: { code: Number(code ?? 0), description: String(description ?? 'no reason given') } }),
  }
}

/** Returns true if all rows succeeded. */
export const areAllApplied = (results: EditResults): boolean =>
  LISTS.every(([name]) => results[name].every(({ success }) => success))

/** Maximum number of ids in one line, and of printed errors. `--json` prints all. */
const MAX_PRINTED = 20
/** The code of rows that were valid, but undone because of another row. */
const ROLLED_BACK = 1003

export function printResults(io: Io, results: EditResults): void {
  for (const [name, , verb] of LISTS) {
    const done = results[name].filter(({ success }) => success)
    if (done.length === 0) continue
    const ids = done.slice(0, MAX_PRINTED).map(({ objectId }) => objectId ?? '?')
    const more = done.length > ids.length ? `, and ${done.length - ids.length} more` : ''
    io.print(`${io.colours.green(verb)} ${count(done.length, 'feature')}: ${ids.join(', ')}${more}`)
  }
  const failed = LISTS.flatMap(([name, kind]) =>
    results[name].flatMap(({ error }, index) => (error ? [{ kind, number: index + 1, ...error }] : [])),
  )
  const errors = failed.filter(({ code }) => code !== ROLLED_BACK)
  for (const { kind, number, code, description } of errors.slice(0, MAX_PRINTED))
    io.print(`${io.colours.red('failed')} ${kind} ${number}: ${code} ${toPrintable(description)}`)
  if (errors.length > MAX_PRINTED) io.print(`... and ${errors.length - MAX_PRINTED} more`)
  const undone = failed.length - errors.length
  if (undone > 0) io.print(`${count(undone, 'other edit')} not applied, because of the errors`)
}
