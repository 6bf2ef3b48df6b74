import type { MockService } from 'geohook/mock'

export interface Called {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: the tests read different members from each response
  body: any
}

/** Calls the control API with JSON. */
export async function call(
  service: Pick<MockService, 'url'>,
  method: string,
  path: string,
  body?: unknown,
): Promise<Called> {
  const response = await fetch(`${service.url}/_mock${path}`, {
    method,
    ...(body === undefined
      ? {}
      : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  })
  return { status: response.status, headers: response.headers, body: await response.json() }
}
