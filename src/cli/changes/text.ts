import type {
  Attachment,
  Changes,
  editor as editorFunction,
  Feature,
  LayerChanges,
} from '../../changes/index.ts'
import { count } from '../../shared/words.ts'
import type { Io } from '../terminal/io.ts'

const COLUMNS = ['layer', 'change', 'id', 'editor', 'when'] as const

const ID_LENGTH = 40
const EDITOR_LENGTH = 30

/** Prints changes as a table with a row for each edit, and a summary. */
export function printChanges(io: Io, changes: Changes, editor: typeof editorFunction): void {
  const rows = toRows(changes, editor)
  const next = toNext(changes)
  if (rows.length === 0) {
    io.print(`there are no changes${io.colours.dim(next)}`)
    return
  }
  const cells = rows.map(({ layer, change, id, editor = '', when = '' }) => [
    io.shortened(layer, ID_LENGTH),
    change,
    io.shortened(id, ID_LENGTH),
    io.shortened(editor, EDITOR_LENGTH),
    when,
  ])
  const attributes = rows.map(({ attributes = '' }) => attributes)
  io.printTable(COLUMNS, cells, { head: 'attributes', cells: attributes })
  io.print(io.colours.dim(`${summarize(changes)}${next}`))
}

/** Counts the edits, for example `2 adds, 1 update, 0 deletes`. */
function summarize({ layers }: Changes): string {
  const sum = (size: (layer: LayerChanges) => number): number =>
    layers.reduce((total, layer) => total + size(layer), 0)
  const files = sum(({ attachments }) => Object.values(attachments).flat().length)
  const adds = sum(({ adds, objectIds }) => adds.length + (objectIds?.adds.length ?? 0))
  const updates = sum(({ updates, objectIds }) => updates.length + (objectIds?.updates.length ?? 0))
  const deletes = sum(({ deletes }) => deletes.ids.length)
  const texts = [count(adds, 'add'), count(updates, 'update'), count(deletes, 'delete')]
  if (files > 0) texts.push(count(files, 'change of an attachment', 'changes of attachments'))
  return texts.join(', ')
}

/** Says where later changes begin. The layers of several services have generations that cannot be compared. */
function toNext({ layerServerGens }: Changes): string {
  const services = new Set(layerServerGens.map(({ service }) => service))
  if (services.size !== 1) return ''
  const next = layerServerGens.map(({ serverGen }) => serverGen).sort((a, b) => a - b)[0]
  return `; to print only later changes, pass --after ${next}`
}

/** Maximum length of the attributes of a row: wider than any terminal. */
const MAX_TEXT = 1_000

/** One edit. Its texts are not escaped. */
interface Row {
  layer: string
  change: string
  id: string
  editor?: string
  when?: string
  attributes?: string
}

/** Names of fields that have a column of their own, in lower case. */
const SHOWN_ELSEWHERE: ReadonlySet<string> = new Set([
  'creator',
  'creationdate',
  'editor',
  'editdate',
  'created_user',
  'created_date',
  'last_edited_user',
  'last_edited_date',
])
const ID_FIELDS = ['objectid', 'fid', 'globalid']

/** Returns a row for each edit, in the order of the service. */
export function toRows({ layers }: Changes, editor: typeof editorFunction): Row[] {
  const services = new Set(layers.map(({ service }) => service))
  return layers.flatMap((layer) => rowsOf(layer, services.size > 1, editor))
}

function rowsOf(layer: LayerChanges, withService: boolean, editor: typeof editorFunction): Row[] {
  const name = withService ? `${serviceNameOf(layer.service)}/${layer.id}` : String(layer.id)
  const row = (change: string, id: unknown, members: Partial<Row> = {}): Row => ({
    layer: name,
    change,
    id: String(id),
    ...members,
  })
  const feature = (change: string) => (edited: Feature) => row(change, idOf(edited), describe(edited, editor))
  const file = (change: string) => (attachment: Attachment) =>
    row(change, attachment.globalId, { attributes: describeFile(attachment) })
  const { adds, updates, deletes, attachments, objectIds } = layer
  return [
    ...adds.map(feature('add')),
    ...(objectIds?.adds ?? []).map((id) => row('add', id)),
    ...updates.map(feature('update')),
    ...(objectIds?.updates ?? []).map((id) => row('update', id)),
    ...deletes.ids.map((id) => row('delete', id)),
    ...attachments.adds.map(file('add file')),
    ...attachments.updates.map(file('update file')),
    ...attachments.deleteIds.map((id) => row('delete file', id)),
  ]
}

/** Returns the name of a service: the part of its URL before `FeatureServer`. */
const serviceNameOf = (url: string): string => url.split('/').at(-2) ?? url

/** Returns the object id of a feature, or else its global id. */
function idOf({ attributes }: Feature): string {
  const values = new Map(Object.entries(attributes).map(([name, value]) => [name.toLowerCase(), value]))
  const field = ID_FIELDS.find((name) => values.has(name)) ?? ''
  const id = values.get(field)
  return typeof id === 'string' || typeof id === 'number' ? String(id) : ''
}

/** Returns who edited a feature and when, and the first attributes that are not null, as `name=value`. */
function describe(feature: Feature, editor: typeof editorFunction): Partial<Row> {
  const edit = editor(feature)
  let attributes = ''
  for (const [name, value] of Object.entries(feature.attributes)) {
    const lower = name.toLowerCase()
    if (value === null || ID_FIELDS.includes(lower) || SHOWN_ELSEWHERE.has(lower)) continue
    attributes += `${attributes && ' '}${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`
    if (attributes.length > MAX_TEXT) break
  }
  return {
    editor: edit.editor ?? edit.creator ?? '',
    when: (edit.editedAt ?? edit.createdAt)?.toISOString() ?? '',
    attributes,
  }
}

const describeFile = ({ name, contentType, size, parentGlobalId }: Attachment): string =>
  `${name} (${contentType}, ${count(size, 'byte')}) of ${parentGlobalId}`
