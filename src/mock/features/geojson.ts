import { geojsonToArcGIS } from '@terraformer/arcgis'
import { configInvalid } from '../../errors.ts'
import type { FeatureSeed, GeoJsonCollection } from './seed-types.ts'

const GEOMETRIES: readonly unknown[] = [
  'Point',
  'MultiPoint',
  'LineString',
  'MultiLineString',
  'Polygon',
  'MultiPolygon',
]

/** Converts GeoJSON to Esri JSON. A whole number as id becomes the object id. @throws {WebhookError} `config_invalid` */
export const fromGeoJson = ({ features }: GeoJsonCollection, name: string): FeatureSeed[] =>
  Array.from(features, (feature, index) => {
    const { id, properties, geometry } = feature
    return {
      attributes: { ...(Number.isSafeInteger(id) ? { OBJECTID: id } : {}), ...properties },
      geometry: toEsriGeometry(geometry, `${name}.features.${index}.geometry`),
    }
  })

function toEsriGeometry(geometry: object | null | undefined, name: string): object | undefined {
  if (geometry === null || geometry === undefined) return undefined
  if (!GEOMETRIES.includes((geometry as { type?: unknown }).type))
    throw configInvalid(`${name}: the type must be ${GEOMETRIES.join(', ')}`)
  try {
    return geojsonToArcGIS(geometry as Parameters<typeof geojsonToArcGIS>[0])
  } catch {
    throw configInvalid(`${name}: the coordinates are not valid`)
  }
}
