/** Colors for tests that draw. */
export const PALETTE = {
  ink: "#1d1e22", quiet: "#5f6168", line: "#e3e1da", rule: "#b9b7b0", card: "#ffffff", page: "#f6f5f1",
  classes: ["#0068a8", "#b4450a", "#00735a", "#8b3a87", "#7a5d00", "#006c7d"], pocket: "#00735a", average: "#8b3a87",
  vote: "#7a5d00", widest: "#565a62", alarm: "#a4284e", dark: false,
};
