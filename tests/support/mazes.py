"""Mazes walked in plain Python."""

import collections

import numpy as np


def neighbours(maze, cell):
    """What left, up, right and down lead to, in plain Python."""
    walls = np.asarray(maze.walls)
    rows, columns = walls.shape
    row, column = divmod(cell, columns)
    for down, right in ((0, -1), (-1, 0), (0, 1), (1, 0)):
        there = row + down, column + right
        inside = 0 <= there[0] < rows and 0 <= there[1] < columns
        is_open = inside and not walls[there]
        yield there[0] * columns + there[1] if is_open else cell


def breadth_first(maze):
    """Steps to the goal of every open cell that has a way there."""
    steps, queue = {maze.goal: 0}, collections.deque([maze.goal])
    while queue:
        cell = queue.popleft()
        for there in neighbours(maze, cell):  # moves can be reversed
            if there not in steps:
                steps[there] = steps[cell] + 1
                queue.append(there)
    return steps
