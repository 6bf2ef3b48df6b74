import type { ServiceVersion } from '../versions.ts'
import type { ControlOperation } from './operations.ts'

export function openApi(operations: readonly ControlOperation[], version: ServiceVersion): object {
  return { openapi: '3.1.0', operations: operations.length, version }
}
