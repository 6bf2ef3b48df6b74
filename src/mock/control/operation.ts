import type { Response } from 'express'
import type { z } from 'zod'
import type { Mock } from '../service.ts'

/** One operation of the control API: its route, its OpenAPI description and its implementation. */
export interface ControlOperation {
  method: 'get' | 'post' | 'delete'
  /** Path below `/_mock`, in Express syntax. */
  path: string
  summary: string
  /** Query parameters. */
  query?: Record<string, { description: string; schema: object }>
  /** Schema of the body; absent for operations without one. */
  body?: z.ZodType
  /** Maximum body size. Default 1 MB. */
  limit?: '16mb'
  /** Success statuses, each with the name of the response's schema. */
  responses: Record<number, ControlResponseName>
  /** Returns the JSON of the response, or undefined if `run` has sent a response itself. */
  run(mock: Mock, request: ControlRequest, res: Response): unknown
}

/** Name of a response; the OpenAPI document has a schema for each. */
export type ControlResponseName =
  | 'Deliveries'
  | 'Delivery'
  | 'Bytes'
  | 'Fault'
  | 'Faults'
  | 'Settings'
  | 'Snapshot'
  | 'Status'
  | 'Stream'
  | 'OpenApi'

/** A request whose query and body have been parsed. */
export interface ControlRequest {
  id: string
  query: Record<string, string | undefined>
  body: unknown
}
