import type { Field, FieldType, Layer, SystemFields } from './model.ts'

/** Creates a field. System fields are not editable. */
export const toField = (name: string, type: FieldType, more: Partial<Field> = {}): Field => ({
  name,
  type,
  alias: name,
  nullable: true,
  editable: true,
  ...more,
})

const SYSTEM: readonly [key: keyof SystemFields, name: string, type: FieldType, more: Partial<Field>][] = [
  ['objectId', 'OBJECTID', 'esriFieldTypeOID', { nullable: false }],
  ['globalId', 'GlobalID', 'esriFieldTypeGlobalID', { length: 38, nullable: false }],
  ['creationDate', 'CreationDate', 'esriFieldTypeDate', {}],
  ['creator', 'Creator', 'esriFieldTypeString', { length: 256 }],
  ['editDate', 'EditDate', 'esriFieldTypeDate', {}],
  ['editor', 'Editor', 'esriFieldTypeString', { length: 256 }],
]

/**
 * Adds the fields that the service sets: the ids first, the editor fields last. A field of the type of an id, or with the
 * name of an editor field, is used in place of a new one.
 */
export function withSystemFields(given: readonly Field[]): Pick<Layer, 'fields' | 'systemFields'> {
  const fields = [...given]
  const names: Partial<Record<keyof SystemFields, string>> = {}
  for (const [index, [key, name, type, more]] of SYSTEM.entries()) {
    const isId = index < 2
    const at = fields.findIndex((field) =>
      isId ? field.type === type : field.name.toLowerCase() === name.toLowerCase() && field.type === type,
    )
    const field = { ...toField(name, type, more), ...fields[at], editable: false }
    if (at >= 0) fields[at] = field
    else if (isId) fields.splice(index, 0, field)
    else fields.push(field)
    names[key] = field.name
  }
  return { fields, systemFields: names as SystemFields }
}

/** The only layer of a service without layers in its seed. */
export const defaultLayer = (name: string): Omit<Layer, 'features'> => ({
  id: 0,
  name,
  geometryType: 'esriGeometryPoint',
  ...withSystemFields([
    toField('name', 'esriFieldTypeString', { length: 256 }),
    toField('notes', 'esriFieldTypeString', { length: 4000 }),
  ]),
  hasAttachments: true,
  spatialReference: { wkid: 4326 },
})
