import type { Response } from 'express'
import type { z } from 'zod'
import type { Core } from '../service.ts'

/** One operation of the control API: what serves it, and what its description says. */
export interface ControlOperation {
  method: 'get' | 'post' | 'delete'
  /** Below `/_mock`, as Express writes it. */
  path: string
  summary: string
  /** The parameters of the query. */
  query?: Record<string, { description: string; schema: object }>
  /** What the body must be. */
  body?: z.ZodType
  /** Of the body. Default 1 MB. */
  limit?: '16mb'
  /** Statuses of success, each with the name of what is answered. */
  answers: Record<number, AnswerName>
  /** Answers by itself, or returns what is answered as JSON with the first status. */
  run(core: Core, request: ControlRequest, res: Response): unknown
}

/** What is answered; the OpenAPI document has a schema for each. */
export type AnswerName =
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

/** A request that has been read and checked. */
export interface ControlRequest {
  id: string
  query: Record<string, string | undefined>
  body: unknown
}
