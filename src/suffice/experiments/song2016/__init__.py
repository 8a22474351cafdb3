"""Song, Henao, Carlson and Carin (2016), Learning Sigmoid Belief Networks via Monte Carlo Expectation Maximization."""
