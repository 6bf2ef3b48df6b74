import type { CheckReport } from '../types.ts'

/**
 * Writes a report as indented JSON. Its schema is docs/check-report.schema.json.
 *
 * @example
 * ```ts
 * import { checkReceiver, toJson } from 'geohook/check'
 *
 * console.log(toJson(await checkReceiver({ url: 'http://127.0.0.1:3000/', signatureKey: 'parcels2026' })))
 * ```
 */
export const toJson = (report: CheckReport): string => `${JSON.stringify(report, null, 2)}\n`
