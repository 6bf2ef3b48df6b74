import type { Feature } from './types.ts'

/** Names of the fields that say who edited a feature: `editFieldsInfo` in the description of a layer. */
export interface EditFields {
  creatorField?: string | null | undefined
  creationDateField?: string | null | undefined
  editorField?: string | null | undefined
  editDateField?: string | null | undefined
}

/** Who created and last edited a feature, and when. Members are absent if the feature lacks them. */
export interface EditorInfo {
  creator?: string
  createdAt?: Date
  editor?: string
  editedAt?: Date
}

/** The default names in both families of products, in lower case. */
const DEFAULTS: Readonly<Record<keyof EditFields, readonly string[]>> = {
  creatorField: ['creator', 'created_user'],
  creationDateField: ['creationdate', 'created_date'],
  editorField: ['editor', 'last_edited_user'],
  editDateField: ['editdate', 'last_edited_date'],
}

/**
 * Returns who created and last edited a feature. The names of the fields are compared without regard to case.
 *
 * @param fields `editFieldsInfo` of the layer, which can be null. Default: the names that the vendor's products use by
 * default
 *
 * @example
 * ```ts
 * import { readEditor } from 'geohook/changes'
 *
 * const edited = readEditor({ attributes: { Editor: 'kim', EditDate: 1700000000000 } })
 * console.log(edited.editor, edited.editedAt) // kim 2023-11-14T22:13:20.000Z
 * ```
 */
export function readEditor({ attributes }: Feature<object>, fields?: EditFields | null): EditorInfo {
  const values = new Map(Object.entries(attributes).map(([name, value]) => [name.toLowerCase(), value]))
  const find = (field: keyof EditFields): unknown => {
    const given = fields?.[field]
    const names = typeof given === 'string' ? [given.toLowerCase()] : DEFAULTS[field]
    return names.map((name) => values.get(name)).find((value) => value !== undefined && value !== null)
  }
  const found = {
    creator: toName(find('creatorField')),
    createdAt: toDate(find('creationDateField')),
    editor: toName(find('editorField')),
    editedAt: toDate(find('editDateField')),
  }
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined))
}

const toName = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/** @param value milliseconds since 1970, or a date as text, as some layers store it */
function toDate(value: unknown): Date | undefined {
  if (typeof value !== 'number' && typeof value !== 'string') return undefined
  const date = new Date(value)
  return Number.isNaN(date.getTime()) ? undefined : date
}
