import { AdminError } from '../../http/errors.ts'
import type { Fields } from './fields.ts'
import type { ExtractTarget } from './windows.ts'

/**
 * Refuses values that would change the answer, but that the mock does not support. Parameters that have no meaning here
 * are ignored.
 *
 * @throws {AdminError} 400
 */
export function refuseUnsupported(fields: Fields, { layers }: ExtractTarget): void {
  const dataFormat = fields.text('dataFormat')
  if (dataFormat !== undefined && dataFormat.toLowerCase() !== 'json')
    throw new AdminError(400, 'dataFormat: the mock supports only json')
  if (fields.text('geometry') !== undefined)
    throw new AdminError(400, 'geometry: the mock does not filter by geometry')
  const version = fields.text('gdbVersion')
  if (version !== undefined && version.toLowerCase() !== 'sde.default')
    throw new AdminError(400, 'gdbVersion: the mock has only sde.DEFAULT')
  const gridCell = fields.text('changesExtentGridCell')
  if (gridCell !== undefined && gridCell.toLowerCase() !== 'none')
    throw new AdminError(400, 'changesExtentGridCell: the mock supports only none')
  const outSR = fields.text('outSR')
  const isOther = ({ spatialReference }: { spatialReference: { wkid: number } }): boolean =>
    spatialReference.wkid !== readWkid(outSR as string)
  if (outSR !== undefined && [...layers.values()].some(isOther))
    throw new AdminError(400, 'outSR: the mock does not project; leave it out, or use the wkid of the layers')
}

/** Reads a spatial reference: a number, or JSON with a `wkid`. Other forms are NaN. */
function readWkid(text: string): number {
  try {
    const value = JSON.parse(text) as { wkid?: unknown } | number | null
    return Number(typeof value === 'object' ? value?.wkid : value)
  } catch {
    return Number.NaN
  }
}
