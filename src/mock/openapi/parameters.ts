import type { ParameterDescription } from '../admin/operation.ts'

/** The parameters in braces in a path. */
export const pathParameters = (path: string): object[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))

export const inQuery = ({ name, description, required, schema }: ParameterDescription): object => ({
  name,
  in: 'query',
  required,
  description,
  schema,
})

/** @param files names of fields with a file; without one, the form can be URL-encoded too */
export function form(parameters: readonly ParameterDescription[], files: readonly string[] = []): object {
  const schema = {
    type: 'object',
    properties: Object.fromEntries([
      ...parameters.map(({ name, description, schema }) => [name, { ...schema, description }]),
      ...files.map((name) => [name, { type: 'string', contentMediaType: 'application/octet-stream' }]),
    ]),
    required: [...parameters.filter(({ required }) => required).map(({ name }) => name), ...files],
  }
  return {
    required: schema.required.length > 0,
    content: {
      ...(files.length === 0 ? { 'application/x-www-form-urlencoded': { schema } } : {}),
      'multipart/form-data': { schema },
    },
  }
}
