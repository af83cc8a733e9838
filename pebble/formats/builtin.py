"""The formats that come with the package, as the catalogue names them."""

from __future__ import annotations

from functools import partial

from pebble.formats.bench import parse_bench
from pebble.formats.dot import dot_lines, parse_dot
from pebble.formats.edge_list import edge_list_lines, parse_edge_list
from pebble.formats.edge_table import edge_table_lines, parse_edge_table
from pebble.formats.graph_file import graph_file_lines, parse_graph_file
from pebble.formats.graphml import graphml_lines, parse_graphml
from pebble.formats.hyperdag import (
    hyperdag_lines,
    parse_hyperdag,
    parse_lhdag,
    parse_plain_dag,
    plain_dag_lines,
)
from pebble.formats.kth import kth_lines, parse_kth
from pebble.formats.matrix_market import matrix_market_lines, parse_matrix_market
from pebble.formats.node_link import node_link_lines, parse_node_link
from pebble.formats.protocol import GraphFormat

EDGE_LIST = GraphFormat(parse_edge_list, edge_list_lines)
CSV = GraphFormat(parse_edge_table, edge_table_lines)
NODE_LINK = GraphFormat(parse_node_link, node_link_lines)
DOT = GraphFormat(parse_dot, dot_lines)
GRAPHML = GraphFormat(parse_graphml, graphml_lines)
HYPERDAG = GraphFormat(parse_hyperdag, hyperdag_lines)
PLAIN_DAG = GraphFormat(parse_plain_dag, plain_dag_lines)
LHDAG = GraphFormat(parse_lhdag)
MATRIX_MARKET = GraphFormat(parse_matrix_market, matrix_market_lines)
MATRIX_MARKET_0 = GraphFormat(partial(parse_matrix_market, base=0))
KTH = GraphFormat(parse_kth, kth_lines)
BENCH = GraphFormat(parse_bench)
PEBBLE = GraphFormat(parse_graph_file, graph_file_lines)
