import { readdirSync, readFileSync } from 'node:fs'

const folder = new URL('./assets/', import.meta.url)

/**
 * The files of the folder `assets` by name: the style, and the modules that the page loads. It works without them. The
 * build replaces this module by the contents of the files (tsup.config.ts), so that bundles contain them.
 */
export const FILES: Readonly<Record<string, string>> = Object.fromEntries(
  readdirSync(folder).map((name) => [name, readFileSync(new URL(name, folder), 'utf8')]),
)
