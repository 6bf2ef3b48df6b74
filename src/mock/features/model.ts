/** Types of fields that the mock knows. */
export const FIELD_TYPES = [
  'esriFieldTypeOID',
  'esriFieldTypeGlobalID',
  'esriFieldTypeString',
  'esriFieldTypeSmallInteger',
  'esriFieldTypeInteger',
  'esriFieldTypeBigInteger',
  'esriFieldTypeSingle',
  'esriFieldTypeDouble',
  'esriFieldTypeDate',
  'esriFieldTypeGUID',
] as const
/** The type of a field. */
export type FieldType = (typeof FIELD_TYPES)[number]

export const GEOMETRY_TYPES = [
  'esriGeometryPoint',
  'esriGeometryMultipoint',
  'esriGeometryPolyline',
  'esriGeometryPolygon',
] as const
/** The type of the geometries of a layer. */
export type GeometryType = (typeof GEOMETRY_TYPES)[number]

/** A field of a layer. */
export interface Field {
  readonly name: string
  readonly type: FieldType
  readonly alias: string
  /** Maximum length of a text in characters; only for texts. */
  readonly length?: number
  readonly nullable: boolean
  /** False for the fields that only the service sets; edits of them are ignored. */
  readonly editable: boolean
}

/** Names of the fields that the service sets. */
export interface SystemFields {
  readonly objectId: string
  readonly globalId: string
  readonly creationDate: string
  readonly creator: string
  readonly editDate: string
  readonly editor: string
}

/** A layer of a feature service, or a table, which has no geometry. */
export interface Layer {
  readonly id: number
  readonly name: string
  /** Undefined for a table. */
  readonly geometryType: GeometryType | undefined
  readonly fields: readonly Field[]
  readonly systemFields: SystemFields
  readonly hasAttachments: boolean
  readonly spatialReference: { readonly wkid: number }
  /** The current features by object id, in ascending order of insertion. */
  readonly features: ReadonlyMap<number, Feature>
}

/** A feature. It is immutable: an update puts another object in its place. */
export interface Feature {
  readonly objectId: number
  /** An upper-case UUID in braces. */
  readonly globalId: string
  /** The values of all fields, including object id, global id and editor fields. */
  readonly attributes: Attributes
  /** Esri JSON without `spatialReference`, which is that of the layer; undefined if the feature has no geometry. */
  readonly geometry: Geometry | undefined
  /** By attachment id. */
  readonly attachments: ReadonlyMap<number, Attachment>
}

/** A value of a field: dates are milliseconds since 1970. */
export type Value = string | number | null
/** The values of the fields of a feature, by name. */
export type Attributes = Readonly<Record<string, Value>>
export type Geometry = Readonly<Record<string, unknown>>

/** A file of a feature. */
export interface Attachment {
  /** Unique in the layer. */
  readonly id: number
  /** An upper-case UUID in braces. */
  readonly globalId: string
  readonly name: string
  readonly contentType: string
  /** In bytes. */
  readonly size: number
  readonly bytes: Uint8Array
}

/** One entry of the history. Changes of one request on one layer of one kind share a generation. */
export interface Change {
  readonly generation: number
  /** Milliseconds since 1970. */
  readonly when: number
  readonly layerId: number
  readonly of: 'feature' | 'attachment'
  readonly kind: 'insert' | 'update' | 'delete'
  /** Of the feature, also for a change of an attachment. */
  readonly objectId: number
  /** Of the feature, also for a change of an attachment. */
  readonly globalId: string
  readonly attachmentId?: number
  readonly attachmentGlobalId?: string
  /** Names of the attributes that an update of a feature changed, without the editor fields. */
  readonly fields?: readonly string[]
  /** True if an update of a feature changed its geometry. */
  readonly movesGeometry?: boolean
  /** The feature before it was deleted. */
  readonly row?: { readonly attributes: Attributes; readonly geometry: Geometry | undefined }
  /** User name of the author. */
  readonly editor: string
}

/** Finds a field by its name, without regard to case. */
export function findField({ fields }: Pick<Layer, 'fields'>, name: string): Field | undefined {
  const lower = name.toLowerCase()
  return (
    fields.find((field) => field.name === name) ?? fields.find((field) => field.name.toLowerCase() === lower)
  )
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Returns a global id in the form that the mock stores; undefined if the value is none. Braces are optional. */
export function toGlobalId(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const isInBraces = value.startsWith('{') && value.endsWith('}')
  const uuid = isInBraces ? value.slice(1, -1) : value
  return UUID.test(uuid) ? `{${uuid.toUpperCase()}}` : undefined
}

/** An id from a request as text; empty for a value that is not an id, such as an object. */
export const toIdText = (id: unknown): string =>
  typeof id === 'string' || typeof id === 'number' ? String(id) : ''

export const toBase64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')

// Bounds of the data of a feature service.

/** Maximum number of features of a layer. */
export const MAX_FEATURES = 100_000
/** Maximum number of rows in one request: adds, updates, deletes and attachments of all layers together. */
export const MAX_EDITS = 2000
/** Maximum number of layers of a service. */
export const MAX_LAYERS = 100
/** Maximum number of fields of a layer. */
export const MAX_FIELDS = 200
/** Maximum length of a text if its field has no length of its own, in characters. */
export const MAX_TEXT = 4000
/** Maximum size of an attachment in bytes. */
export const MAX_ATTACHMENT: number = 10 * 1024 * 1024
/** Maximum size of all attachments of a service in bytes. */
export const MAX_ATTACHMENTS_OF_SERVICE: number = 100 * 1024 * 1024
/** Maximum number of changes that the history of a service keeps. */
export const MAX_HISTORY = 50_000

/** A layer of a feature service to start with. */
export interface LayerSeed {
  /** Default: the position in the list, from 0. */
  id?: number | undefined
  name: string
  /** Default: that of the features. A layer without geometries is a table. */
  geometryType?: GeometryType | undefined
  /** Fields in addition to object id, global id and editor fields. Default: inferred from the features. */
  fields?: readonly FieldSeed[] | undefined
  /** Default: none. GeoJSON is converted, and needs the spatial reference 4326. */
  features?: readonly FeatureSeed[] | GeoJsonCollection | undefined
  /** Default true. */
  hasAttachments?: boolean | undefined
  /** Default 4326 (longitude and latitude). */
  spatialReference?: { wkid: number } | undefined
}

/** A field of a {@link LayerSeed}. */
export interface FieldSeed {
  name: string
  type: FieldType
  /** Default: the name. */
  alias?: string | undefined
  /** Maximum length of a text in characters, 1 to 4000. Default 256. */
  length?: number | undefined
  /** Default true. */
  nullable?: boolean | undefined
}

/** A feature of a {@link LayerSeed}, as Esri JSON. */
export interface FeatureSeed {
  attributes: Readonly<Record<string, unknown>>
  geometry?: object | null | undefined
}

/** A GeoJSON FeatureCollection (RFC 7946). */
export interface GeoJsonCollection {
  type: 'FeatureCollection'
  features: readonly {
    type: 'Feature'
    id?: string | number | undefined
    properties: Readonly<Record<string, unknown>> | null
    geometry: object | null
  }[]
}
