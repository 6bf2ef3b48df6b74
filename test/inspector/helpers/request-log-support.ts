import express from 'express'
import { createReceiver, type Receiver, type ReceiverOptions } from 'geohook'
import { webhook } from 'geohook/express'
import { createInspector, createRequestLog, type RequestLog, type RequestLogOptions } from 'geohook/inspector'
import { expect, onTestFinished } from 'vitest'
import { KEY } from '../../helpers/deliver.ts'
import { listen } from '../../helpers/mounts/mounted.ts'

interface PageResponse {
  status: number
  text: string
}

/** The pages of an inspector, as a browser without script sees them. */
export interface Page {
  get(path: string): Promise<PageResponse>
  /** Ids in the list, newest first. */
  ids(query?: string): Promise<string[]>
  /** Text of the row of a delivery, without markup. */
  row(id: string): Promise<string>
  /** Opens the form of an action, submits it, and follows the redirect. */
  submit(path: string, values: Record<string, string>): Promise<PageResponse>
}

export function createPage(base: string): Page {
  const get: Page['get'] = async (path) => {
    const response = await fetch(base + path)
    return { status: response.status, text: await response.text() }
  }
  return {
    get,
    async ids(query = '') {
      const { text } = await get(`/${query}`)
      return [...text.matchAll(/<li data-id="([^"]+)"/g)].map(([, id = '']) => id)
    },
    async row(id) {
      const [, markup = ''] =
        (await get('/')).text.split(`<li data-id="${id}">`)[1]?.match(/^([\s\S]*?)<\/li>/) ?? []
      return textOf(markup)
    },
    async submit(path, values) {
      const form = await get(path)
      const [, secret = ''] = /name="form-secret" value="([^"]+)"/.exec(form.text) ?? []
      const body = new URLSearchParams({ ...values, 'form-secret': secret })
      const response = await fetch(base + path, { method: 'POST', body })
      return { status: response.status, text: await response.text() }
    },
  }
}

/** Text without markup. */
export const textOf = (markup: string): string =>
  markup
    .replace(/<[^>]*>/g, ' ')
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&amp;/g, '&')
    .replace(/\s+/g, ' ')
    .trim()

interface Inspected {
  /** Address of the receiver. */
  hook: string
  page: Page
  pageUrl: string
  requestLog: RequestLog
  receiver: Receiver
}

/** Starts an Express app with a receiver and its inspector, until the test has finished. */
export async function startInspected(
  options: Partial<ReceiverOptions & RequestLogOptions> = {},
  prepare: (receiver: Receiver) => void = (receiver) => void receiver.on('*', () => {}),
): Promise<Inspected> {
  const { maxRequests, maxBytes, resendTo, title, ...given } = options
  const receiverOptions = { signatureKey: KEY, observer: quiet, ...given } as ReceiverOptions
  const bounds = { maxRequests, maxBytes, resendTo, title }
  const requestLog = createRequestLog(receiverOptions, bounds)
  const receiver = createReceiver({ ...receiverOptions, observer: requestLog.observer })
  prepare(receiver)
  const app = express()
  app.all('/hook', webhook(receiver))
  app.use('/inspect', createInspector(requestLog))
  const { url: hook, close } = await listen(app)
  onTestFinished(close)
  const pageUrl = new URL('/inspect', hook).href
  return { hook, page: createPage(pageUrl), pageUrl, requestLog, receiver }
}

/** Keeps refusals and failures out of the log. */
export const quiet = { refused() {}, failed() {} }

/** Expects one recorded request, and returns its id. */
export async function onlyId(page: Page): Promise<string> {
  const ids = await page.ids()
  expect(ids).toHaveLength(1)
  return ids[0] as string
}
