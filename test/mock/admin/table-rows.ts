import type { Webhook } from 'geohook/mock'
import { expect } from 'vitest'
import { NOWHERE, pathOf, same } from '../support.ts'
import {
  fieldsOf,
  LISTED_FIELDS,
  SCHEDULE_FIELDS,
  SETTINGS_FIELDS,
  STATUS_FIELDS,
  WEBHOOK_FIELDS,
} from './support.ts'

export type Fields = Record<string, string>
export type Body = Record<string, unknown>

/** An operation with its request and the checks of a successful response. */
export interface Row {
  operation: string
  method: 'GET' | 'POST'
  path(webhook: Webhook): string
  parameters?(webhook: Webhook): Fields
  /** Checks each field of a successful response. */
  check(body: Body, webhook: Webhook): void
  /** True if a successful request changes the state. */
  changes?: boolean
}

const listOf = (webhook: Webhook): string => pathOf(webhook).replace(/\/[^/]*$/, '')

/** A webhook without a schedule of its own shows none, unless every webhook gathers events. */
const checkSchedule = (scheduleInfo: unknown, webhook: Webhook): void =>
  expect(fieldsOf(scheduleInfo as object)).toEqual(
    'recurrenceInfo' in webhook.scheduleInfo ? SCHEDULE_FIELDS : [],
  )

function checkWebhook(body: Body, webhook: Webhook): void {
  const { serviceName, serviceType, folderName } = webhook
  expect(fieldsOf(body)).toEqual([...WEBHOOK_FIELDS, ...STATUS_FIELDS])
  expect(body).toMatchObject({ serviceName, serviceType, folderName, status: 'success' })
  checkSchedule(body.scheduleInfo, webhook)
}

const checkStatus = (body: Body): void => expect(body).toEqual({ status: 'success' })

function checkList(body: Body, webhook: Webhook): void {
  const webhooks = body.webhooks as Body[]
  expect(Object.keys(body)).toEqual(['webhooks'])
  for (const item of webhooks) expect(fieldsOf(item)).toEqual(LISTED_FIELDS)
  const item = webhooks.find(({ id }) => id === webhook.id) as Body
  expect(item).toMatchObject({ name: webhook.name, signatureKey: webhook.signatureKey })
  checkSchedule(item.scheduleInfo, webhook)
}

export const ROWS: Row[] = [
  {
    operation: 'edit',
    method: 'POST',
    path: (webhook) => `${pathOf(webhook)}/edit`,
    parameters: same,
    check: checkWebhook,
    changes: true,
  },
  {
    operation: 'delete',
    method: 'POST',
    path: (webhook) => `${pathOf(webhook)}/delete`,
    check: checkStatus,
    changes: true,
  },
  {
    operation: 'read',
    method: 'GET',
    path: pathOf,
    check(body, webhook) {
      expect(fieldsOf(body)).toEqual(WEBHOOK_FIELDS)
      expect(body.id).toBe(webhook.id)
      checkSchedule(body.scheduleInfo, webhook)
    },
  },
  {
    operation: 'create',
    method: 'POST',
    path: (webhook) => `${listOf(webhook)}/create`,
    parameters: () => ({ name: 'new', hookUrl: NOWHERE }),
    check: checkWebhook,
    changes: true,
  },
  { operation: 'list', method: 'GET', path: listOf, check: checkList },
  ...['deleteAll', 'activateAll', 'deactivateAll'].map(
    (operation): Row => ({
      operation,
      method: 'POST',
      path: (webhook) => `${listOf(webhook)}/${operation}`,
      check: checkStatus,
      changes: true,
    }),
  ),
  {
    operation: 'notificationStatus',
    method: 'GET',
    path: (webhook) => `${pathOf(webhook)}/notificationStatus`,
    check: (body) => expect(body).toEqual({ webhookNotificationStatus: [] }),
  },
  { operation: 'site list', method: 'GET', path: () => '/services/webhooks', check: checkList },
  {
    operation: 'settings, read',
    method: 'GET',
    path: () => '/services/webhooks/settings',
    check: (body) => expect(fieldsOf(body)).toEqual(SETTINGS_FIELDS),
  },
  {
    operation: 'settings, changed',
    method: 'POST',
    path: () => '/services/webhooks/settings',
    parameters: () => ({ notificationAttempts: '2' }),
    check: (body) => expect(fieldsOf(body)).toEqual([...SETTINGS_FIELDS, ...STATUS_FIELDS]),
    changes: true,
  },
  {
    operation: 'generateToken',
    method: 'POST',
    path: () => '/generateToken',
    parameters: () => ({ username: 'neither', password: 'pw-neither' }),
    check(body) {
      expect(fieldsOf(body)).toEqual([
        ['token', 'string'],
        ['expires', 'integer'],
      ])
    },
  },
]
