/** The style of a run's page, light and dark. */

const LIGHT = `--ink: #1d2329; --quiet: #5b6670; --ground: #ffffff; --grid: #dfe4e8;
  --good: #1a7f45; --bad: #b3261e; --a: #1f66d1; --b: #b4530d; --c: #6b3fa0;`
const DARK = `--ink: #e8ecef; --quiet: #9aa6b0; --ground: #14181b; --grid: #333b42;
  --good: #5ccb8b; --bad: #ff8a80; --a: #7db2ff; --b: #f2a65e; --c: #c3a0f0;`

export const STYLE = `
:root { color-scheme: light dark; ${LIGHT} }
@media (prefers-color-scheme: dark) { :root { ${DARK} } }
body { margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: var(--ink);
  background: var(--ground); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
.quiet { color: var(--quiet); margin: 0.2rem 0; }
.found { color: var(--good); } .missed { color: var(--bad); font-weight: 600; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: 0.25rem 0.45rem; text-align: left; border-bottom: 1px solid var(--grid);
  vertical-align: middle; }
th { font-weight: 400; } thead th { color: var(--quiet); font-weight: 500; }
caption { color: var(--quiet); text-align: left; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
figure { margin: 1.5rem 0; max-width: 46rem; }
figcaption { font-weight: 600; margin-bottom: 0.3rem; }
figure p { margin: 0.2rem 0; }
svg { width: 100%; height: auto; font: 12px system-ui, sans-serif; }
svg.strip { width: 19rem; font-size: 10px; display: block; }
svg text { fill: var(--quiet); } svg .name { fill: var(--ink); text-anchor: middle; }
.middle { text-anchor: middle; } .end { text-anchor: end; }
.grid { stroke: var(--grid); stroke-width: 1; }
.line0 { --own: var(--a); } .line1 { --own: var(--b); } .line2 { --own: var(--c); }
.curve polyline { fill: none; stroke: var(--own); stroke-width: 2; }
.curve line { stroke: var(--own); stroke-width: 1.5; opacity: 0.6; }
.curve circle { fill: var(--own); stroke: var(--ground); stroke-width: 1.5; }
.legend span { margin-right: 1.5rem; }
.legend i { display: inline-block; width: 0.8rem; height: 0.8rem; margin-right: 0.4rem;
  border-radius: 50%; background: var(--own); vertical-align: -0.05rem; }
.round { fill: var(--a); opacity: 0.55; } .median { stroke: var(--ink); stroke-width: 2; }
.goal line { stroke-width: 1.5; stroke-dasharray: 3 2; }
.goal.target line { stroke: var(--good); } .goal.floor line { stroke: var(--bad); }
summary { cursor: pointer; color: var(--quiet); }
`
