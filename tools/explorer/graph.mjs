// What the graph view uses of its libraries.
export { default as Graph } from "graphology";
export { default as forceAtlas2 } from "graphology-layout-forceatlas2";
export { default as Sigma } from "sigma";
export { EdgeArrowProgram } from "sigma/rendering";
