import type { Changes, editor as editorFunction, LayerChanges } from '../../changes/index.ts'
import { count, type Io } from '../terminal/io.ts'
import { toTable } from '../terminal/table.ts'
import { toRows } from './rows.ts'

const COLUMNS = ['layer', 'change', 'id', 'editor', 'when'] as const

const ID_LENGTH = 40
const EDITOR_LENGTH = 30

/** Formats changes as a table with a row for each edit, and a summary. */
export async function toChangesText(
  io: Io,
  changes: Changes,
  editor: typeof editorFunction,
): Promise<string> {
  const rows = toRows(changes, editor)
  const next = toNext(changes)
  if (rows.length === 0) return `there are no changes${io.colours.dim(next)}`
  const cells = rows.map(({ layer, change, id, editor, when }) => [
    io.shortened(layer, ID_LENGTH),
    change,
    io.shortened(id, ID_LENGTH),
    io.shortened(editor, EDITOR_LENGTH),
    when,
  ])
  const length = io.restOfLine(widthOf(cells))
  const table = await toTable(
    io,
    [...COLUMNS, 'attributes'],
    cells.map((row, index) => [...row, io.shortened(rows[index]?.attributes ?? '', length)]),
  )
  return `${table}\n${io.colours.dim(`${summarize(changes)}${next}`)}`
}

/** Counts the edits, for example `2 adds, 1 update, 0 deletes`. */
function summarize({ layers }: Changes): string {
  const sum = (size: (layer: LayerChanges) => number): number =>
    layers.reduce((total, layer) => total + size(layer), 0)
  const files = sum(({ attachments }) => Object.values(attachments).flat().length)
  return [
    count(
      sum(({ adds, objectIds }) => adds.length + (objectIds?.adds.length ?? 0)),
      'add',
    ),
    count(
      sum(({ updates, objectIds }) => updates.length + (objectIds?.updates.length ?? 0)),
      'update',
    ),
    count(
      sum(({ deletes }) => deletes.ids.length),
      'delete',
    ),
    ...(files > 0 ? [count(files, 'change of an attachment', 'changes of attachments')] : []),
  ].join(', ')
}

/** Says where later changes begin. The layers of several services have generations that cannot be compared. */
function toNext({ layerServerGens }: Changes): string {
  const services = new Set(layerServerGens.map(({ service }) => service))
  if (services.size !== 1) return ''
  const next = layerServerGens.reduce(
    (least, { serverGen }) => Math.min(least, serverGen),
    Number.MAX_SAFE_INTEGER,
  )
  return `; to print only later changes, pass --after ${next}`
}

/** Returns the total width of all columns before the attributes, including the gaps. */
const widthOf = (rows: readonly (readonly string[])[]): number =>
  COLUMNS.reduce(
    (sum, head, column) =>
      sum + 2 + rows.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), head.length),
    0,
  )
