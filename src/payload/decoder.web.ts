/** Strict UTF-8, which drops one byte order mark. */
export const decoder: Pick<TextDecoder, 'decode'> = new TextDecoder('utf-8', { fatal: true })
