import { settingsSchema } from '../delivery-settings.ts'
import { faultSchema } from '../faults/faults.ts'
import { serviceDataSchema } from '../features/snapshot-schema.ts'
import { portalConfigSchema, serviceSchema, snapshotSchema } from '../schemas.ts'
import { ADMIN_SCHEMAS, WEBHOOK_MEMBERS } from './admin-schemas.ts'
import { exactly, listOf, type Schema, TEXT, TIME, toJsonSchema, withAllMembers } from './json-schema.ts'

const headers = { type: 'object', additionalProperties: true }

/** Schemas of responses and their parts. */
export const SCHEMAS: Readonly<Record<string, Schema>> = {
  ...ADMIN_SCHEMAS,
  Service: withAllMembers(serviceSchema),
  Fault: exactly({ id: TEXT, ...(toJsonSchema(faultSchema).properties as object) }, [
    'webhookId',
    'times',
    'delay',
    'step',
  ]),
  Faults: exactly({ faults: listOf('Fault') }),
  Delivery: exactly(
    {
      id: TEXT,
      deliveryId: { ...TEXT, description: 'The same for every attempt of one delivery' },
      webhookId: TEXT,
      number: { type: 'integer', minimum: 1, description: '1 for the first attempt of a delivery' },
      hookUrl: TEXT,
      sentAt: TIME,
      request: exactly({
        method: TEXT,
        headers,
        body: { ...TEXT, contentEncoding: 'base64' },
      }),
      bytesSent: { type: 'integer', minimum: 0, description: 'If the fault is one of the connection' },
      answer: exactly({ status: { type: 'integer' }, headers, body: TEXT }),
      error: { ...TEXT, description: 'Reason for the missing response' },
      milliseconds: { type: 'integer', minimum: 0 },
      fault: TEXT,
    },
    ['bytesSent', 'answer', 'error', 'milliseconds', 'fault'],
  ),
  Deliveries: exactly(
    {
      deliveries: listOf('Delivery'),
      next: { type: ['string', 'null'] },
      notSent: {
        type: 'array',
        items: exactly({ webhookId: TEXT, reason: TEXT }),
        description: 'Webhooks that get no deliveries, because their last handshake failed',
      },
    },
    ['next', 'notSent'],
  ),
  Snapshot: exactly(
    {
      services: listOf('Service'),
      webhooks: {
        type: 'array',
        items: exactly({ ...WEBHOOK_MEMBERS, config: toJsonSchema(portalConfigSchema) }, ['config']),
      },
      settings: withAllMembers(settingsSchema),
      failures: (toJsonSchema(snapshotSchema).properties as Record<string, unknown>).failures,
      handshakes: (toJsonSchema(snapshotSchema).properties as Record<string, unknown>).handshakes,
      featureData: { type: 'array', items: toJsonSchema(serviceDataSchema) },
    },
    ['featureData'],
  ),
}
