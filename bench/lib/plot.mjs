import * as vega from 'vega'
import { compile } from 'vega-lite'

/** @typedef {import('./part.mjs').Plot} Plot */

const [TEXT, FAINT, OWN, OTHER, GOAL] = ['#1f2328', '#8c959f', '#1a7f6c', '#a9b2bc', '#bf3989']
const SERIES_COLOURS = [OWN, '#6639ba', '#bc4c00', '#0969da']
const WIDTH = 520

/** White behind it all, so that it can be read on a dark page, too. */
const LOOK = {
  background: 'white',
  padding: 16,
  font: 'sans-serif',
  title: { anchor: 'start', frame: 'group', fontSize: 12, color: TEXT },
  axis: {
    labelFontSize: 12,
    titleFontSize: 12,
    titleFontWeight: 'normal',
    labelColor: TEXT,
    titleColor: TEXT,
    gridColor: '#e4e7eb',
    domainColor: FAINT,
    tickColor: FAINT,
    labelLimit: 400,
    labelFlush: false,
  },
  legend: { symbolOpacity: 1, labelFontSize: 12, labelColor: TEXT, title: null },
  concat: { spacing: 14 },
  view: { stroke: null },
}

// Without a browser widths are guesses, and those of Vega are far too wide for a sans serif.
vega.textMetrics.width = ({ fontSize = 11 }, text) => String(text ?? '').length * fontSize * 0.6

/** Drawn without a browser. @param {Plot} plot @returns {Promise<string>} the SVG */
export async function toSvg(plot) {
  const draw = plot.kind === 'bars' ? bars : lines
  const spec = {
    config: LOOK,
    title: { text: plot.title, fontSize: 15, offset: 12, frame: 'bounds' },
    ...draw({ ...plot, points: plot.points.map((point) => ({ low: point.y, high: point.y, ...point })) }),
  }
  const view = new vega.View(vega.parse(compile(spec).spec), { renderer: 'none' })
  const svg = await view.toSVG()
  view.finalize()
  return `${svg}\n`
}

const distinct = (values) => [...new Set(values)]

/** The scale and the axis of numbers. Of a log axis only the ones, twos and fives are named; of a long one, the ones. */
function quantity(title, values, isLog) {
  if (!isLog) return { type: 'quantitative', title, scale: { zero: true } }
  const domain = [Math.min(...values) * 0.95, Math.max(...values) * 1.05]
  const decades = Math.log10(domain[1] / domain[0])
  const ticks = []
  for (let power = Math.floor(Math.log10(domain[0])); power <= Math.log10(domain[1]); power++)
    ticks.push(...(decades > 2.5 ? [1] : [1, 2, 5]).map((digit) => Number(`${digit}e${power}`)))
  const named = ticks.filter((tick) => tick >= domain[0] && tick <= domain[1])
  const axis = { values: named, format: ',~g' }
  return { type: 'quantitative', title, scale: { type: 'log', domain, nice: false }, axis }
}

/** A panel for each series, all by the same measure. Bars of geohook stand out, where there are others. */
function bars({ y, logY, base = 0, goals = [], points }) {
  const names = distinct(points.map((point) => point.x))
  const own = names.filter((name) => /geohook/.test(name))
  const reach = [...points.flatMap(({ low, high }) => [low, high]), ...goals.map((goal) => goal.y)]
  const value = quantity(goals.length > 0 ? `${y}; dashed: the goal` : y, [...reach, base || reach[0]], logY)
  if (!logY) value.scale = { domain: [0, Math.max(...reach, base)] }
  const unnamed = { ...value, axis: { ...value.axis, labels: false, ticks: false, title: null } }
  const series = distinct(points.map((point) => point.series))
  const panels = series.map((one) => {
    const along = one === series.at(-1) ? value : unnamed
    const bar = {
      mark: { type: 'bar', height: { band: 0.7 } },
      encoding: {
        x: { field: 'y', stack: null, ...along },
        x2: { datum: logY ? base : 0 },
        color: {
          condition: { test: { field: 'x', oneOf: own.length > 0 ? own : names }, value: OWN },
          value: OTHER,
        },
      },
    }
    const quartiles = {
      mark: { type: 'rule', strokeWidth: 1.5, color: TEXT },
      encoding: { x: { field: 'low', ...along }, x2: { field: 'high' } },
    }
    const line = (at, look) => ({
      mark: { type: 'rule', strokeWidth: 1.5, ...look },
      encoding: { x: { datum: at, ...along }, y: null },
    })
    const reached = goals.filter((goal) => (goal.series ?? one) === one)
    return {
      width: WIDTH,
      height: { step: 20 },
      ...(series.length > 1 && { title: one }),
      data: { values: points.filter((point) => point.series === one) },
      encoding: { y: { field: 'x', type: 'nominal', sort: null, title: null } },
      layer: [
        bar,
        quartiles,
        ...(base === 0 ? [] : [line(base, { color: FAINT })]),
        ...reached.map((goal) => line(goal.y, { color: GOAL, strokeDash: [4, 3] })),
      ],
    }
  })
  return { vconcat: panels }
}

/** A line for each series, between its quartiles. */
function lines({ x, y, logX, logY, points }) {
  const series = distinct(points.map((point) => point.series))
  const along = quantity(
    x,
    points.map((point) => point.x),
    logX,
  )
  const up = quantity(
    y,
    points.flatMap(({ low, high }) => [low, high]),
    logY,
  )
  const color = { field: 'series', type: 'nominal', scale: { domain: series, range: SERIES_COLOURS } }
  return {
    width: WIDTH,
    height: 280,
    data: { values: points },
    encoding: {
      x: { field: 'x', ...along },
      color: series.length > 1 ? color : { ...color, legend: null },
    },
    layer: [
      {
        mark: { type: 'area', opacity: 0.15 },
        encoding: { y: { field: 'low', ...up }, y2: { field: 'high' } },
      },
      { mark: { type: 'line', point: { size: 45 } }, encoding: { y: { field: 'y', ...up } } },
    ],
  }
}
