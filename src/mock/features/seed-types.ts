import type { FieldType, GeometryType } from './model.ts'

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
