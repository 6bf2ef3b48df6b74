import type { ContextOptions } from './operation.ts'

/** How errors are sent. */
export type ErrorOptions = Pick<ContextOptions, 'errorFormat' | 'httpStatus'>

/** The paths of the portal and of hosted services have one format of errors, whatever the options say. */
export const errorsOf = (path: string, { errorFormat, httpStatus }: ErrorOptions): ErrorOptions => ({
  errorFormat: /^\/(rest|sharing)\//.test(path) ? 'error' : errorFormat,
  httpStatus,
})

const SERVER_INFO = '/rest/info'

/**
 * Returns the path that a client means. `@esri/arcgis-rest-request` adds `/rest/info` to whatever it takes for the root
 * of a server, which can end with a slash or be the path of an operation, and ends `oauth2/token` with a slash.
 */
export function toKnownPath(path: string): string {
  if (path.endsWith(SERVER_INFO) && !path.startsWith('/sharing/')) return SERVER_INFO
  return path.startsWith('/sharing/') && path.endsWith('/') ? path.slice(0, -1) : path
}
